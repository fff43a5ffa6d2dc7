class FrequentOneHot(OneHotEncoder):
    """A column for each of the 256 most frequent categories; all of them zero for others."""

    def fit(self, x, y=None):
        self.categories = [np.sort(most_frequent(x[:, column])[:256]) for column in range(x.shape[1])]
        return super().fit(x)


