"""summary.json as models: what `analysis` gives and `report` takes. No input, no output, nothing computed."""
