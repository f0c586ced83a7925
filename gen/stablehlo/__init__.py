"""StableHLO text, read into the graph of HLO."""
