"""How much: the search of a limit, the verdict on a trial, the client's headroom."""
