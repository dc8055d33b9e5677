"""One trial, and combinations of several: searches, squeezes, pairs."""
