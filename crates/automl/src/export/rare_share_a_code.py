class RareShareACode(BaseEstimator, TransformerMixin):
    """Categories by how many training rows have them: 254 codes for the frequent ones and one for the rest, as
    scikit-learn takes 255 at most. A category never met is missing."""

    def fit(self, x, y=None):
        self.levels_ = [most_frequent(x[:, column]) for column in CATEGORICAL]
        return self

    def transform(self, x):
        x = x.copy()
        for column, levels in zip(CATEGORICAL, self.levels_):
            code_of = {level: min(code, 254) for code, level in enumerate(levels)}
            x[:, column] = [code_of.get(cell, np.nan) for cell in x[:, column]]
        return x


