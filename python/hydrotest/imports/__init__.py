"""Definitions that people bring with them, made into experiments: what of each is kept, changed or left out is data (`note`), and its
words are made in `report.wording.imported`."""
