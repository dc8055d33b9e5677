"""What the systems' own tools print, as figures: lines and cells, in whatever locale. No verdicts: what is wrong with
the figures is for those who read them (`load.stock_output` for our own runs, `audit` for anybody's)."""
