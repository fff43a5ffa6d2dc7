def read(path):
    if path.endswith((".parquet", ".pq")):
        return pd.read_parquet(path)
    delimiter = "\t" if ".tsv" in path else ","
    return pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False, na_values=MISSING)


def codes(cells, levels):
    """Each cell's position among the levels: -1 for one never met, NaN where the cell is missing."""
    by_text = {level: float(code) for code, level in enumerate(levels)}
    by_number = {}
    for level, code in by_text.items():
        try:
            by_number[float(level)] = code
        except ValueError:
            pass
    unseen = len(levels) - 1.0 if levels[-1] == "(other)" else -1.0

    def code(cell):
        if pd.isna(cell):
            return np.nan
        text = str(cell).strip()
        for spelling in (text, text.lower()):
            if spelling in by_text:
                return by_text[spelling]
        try:
            return by_number.get(float(text), unseen)
        except ValueError:
            return unseen

    return np.array([code(cell) for cell in cells])


def date_part(instants, part):
    if part == "elapsed_days":
        return (instants - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    return instants.dt.weekday + 1 if part == "weekday" else getattr(instants.dt, part)


def features(table):
    """Numbers as they are, categories as codes, dates as their parts; NaN where a cell is missing."""
    columns = []
    for name, kind in COLUMNS.items():
        if kind == "number":
            columns.append(pd.to_numeric(table[name]))
        elif isinstance(kind, list):
            columns.append(codes(table[name], kind))
        else:
            instants = pd.to_datetime(table[name], utc=True)
            columns.extend(date_part(instants, part) for part in kind)
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


