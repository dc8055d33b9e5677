"""Was anything lost: the account of records and of reads."""
