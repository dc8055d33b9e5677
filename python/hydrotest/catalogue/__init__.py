"""Machines that can be bought or rented, with what they have and what they cost; nothing is fetched."""
