class ByKind(BaseEstimator, TransformerMixin):
    """Missing categories are filled by their mode, missing numbers by another statistic."""

    def __init__(self, strategy):
        self.strategy = strategy

    def fit(self, x, y=None):
        self.numbers_ = SimpleImputer(strategy=self.strategy).fit(x)
        self.categories_ = SimpleImputer(strategy="most_frequent").fit(x)
        return self

    def transform(self, x):
        filled, modes = self.numbers_.transform(x), self.categories_.transform(x)
        # Both drop the columns without any value.
        kept = np.flatnonzero(~np.isnan(self.numbers_.statistics_))
        categories = np.isin(kept, CATEGORICAL)
        filled[:, categories] = modes[:, categories]
        return filled


