class SammeR(ClassifierMixin, BaseEstimator):
    """AdaBoost of stumps by SAMME.R, which scikit-learn 1.6 and newer no longer have."""

    def __init__(self, n_estimators, learning_rate, random_state):
        self.n_estimators, self.learning_rate, self.random_state = n_estimators, learning_rate, random_state

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        k = len(self.classes_)
        coding = np.where(y[:, None] == self.classes_, 1.0, -1.0 / (k - 1))
        weights = np.full(len(y), 1.0 / len(y))
        self.stumps_ = []
        for round in range(self.n_estimators):
            stump = DecisionTreeClassifier(max_depth=1, random_state=self.random_state + round)
            self.stumps_.append(stump.fit(x, y, sample_weight=weights))
            if np.average(stump.predict(x) != y, weights=weights) <= 0:
                break
            change = -self.learning_rate * (k - 1) / k * (coding * self.logs(stump, x)).sum(axis=1)
            weights = weights * np.exp(np.where((weights > 0) | (change < 0), change, 0.0))
            if not 0 < weights.sum() < np.inf:
                break
            weights /= weights.sum()
        return self

    @staticmethod
    def logs(stump, x):
        return np.log(np.clip(stump.predict_proba(x), np.finfo(float).eps, None))

    def predict_proba(self, x):
        logs = [self.logs(stump, x) for stump in self.stumps_]
        return softmax(np.mean([log - log.mean(axis=1, keepdims=True) for log in logs], axis=0), axis=1)

    def predict(self, x):
        return self.classes_[np.argmax(self.predict_proba(x), axis=1)]


