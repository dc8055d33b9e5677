"""summary.json as models: `analysis` produces them and `report` reads them. No input, no output, no
computation."""
