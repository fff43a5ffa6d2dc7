def fit(table):
    """Every pipeline fitted on the rows that have a class, and each class's share of them."""
    x, y = features(table), codes(table[TARGET], CLASSES)
    has_class = y >= 0
    x, y = x[has_class], y[has_class].astype(int)
    models = [(weight, pipeline.fit(x, y)) for weight, pipeline in PIPELINES]
    return models, np.bincount(y, minlength=len(CLASSES)) / len(y)


def predict(models, x):
    """The weighted mean of what the pipelines say."""
    votes = np.zeros((len(x), len(CLASSES)))
    for weight, model in models:
        votes[:, model.classes_] += weight * answers(model, x)
    return votes / sum(weight for weight, _ in models)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    models, shares = fit(read(sys.argv[1]))
    votes = predict(models, features(read(sys.argv[2])))
    table = pd.DataFrame({"prediction": [CLASSES[code] for code in decide(votes, shares)]})
    for code, name in enumerate(CLASSES):
        table["probability_" + name] = votes[:, code]
    table.to_csv(sys.stdout, index=False)


if __name__ == "__main__":
    main()
