"""A module as a program: calls of fusions on arrays, and the block of memory that the arrays between the calls
share."""
