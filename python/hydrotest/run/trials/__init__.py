"""One trial and what is made of several: searches, squeezes, pairs."""
