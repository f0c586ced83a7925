"""A module as a program: calls of fusions on arrays, and one block of memory for the arrays that one call passes to
another.
"""
