"""A module as a program: calls over buffers, and the block of memory that these share."""
