"""Findings as codes and figures: `trial` (was it sustained?), `limit` (does it count?), `binding` (what sets
it?), `evidence` (the figures behind that). Frozen, without words: `report/wording` makes those, last."""
