"""The screen of a run that goes on: what it knows (`state`), how long the run still takes (`forecast`), its lines
(`sections`, `layout`), and the terminal that it is drawn on (`display`)."""
