def most_frequent(cells):
    """The categories that rows have, those of most rows first; of equally frequent ones the smaller code."""
    levels, counts = np.unique(cells[cells >= 0], return_counts=True)
    return levels[np.argsort(-counts, kind="stable")]


