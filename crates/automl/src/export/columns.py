def text_of(path):
    """UTF-8 with or without its mark, UTF-16 with one, else Windows-1252; compressed or not."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def read(path):
    """A table as the model's was read: Parquet, Arrow, or text whose delimiter is found out."""
    if path.endswith((".parquet", ".pq")):
        return pd.read_parquet(path)
    if path.endswith((".arrow", ".feather", ".ipc")):
        return pd.read_feather(path)
    text = text_of(path)
    names = [*COLUMNS, TARGET]
    # Columns of a table without names were called by their positions.
    has_names = not all(re.fullmatch(r"column_[0-9]+", name) for name in names)
    first = next(line for line in text.splitlines() if line.strip())

    def n_fitting(delimiter):
        cells = next(csv.reader([first], delimiter=delimiter, skipinitialspace=True))
        return len([c for c in cells if c in names]) if has_names else len(cells)

    table = pd.read_csv(
        io.StringIO(text),
        sep=max([",", "\t", ";", "|", " "], key=n_fitting),
        header=0 if has_names else None,
        dtype=str,
        keep_default_na=False,
        na_values=MISSING,
        skipinitialspace=True,
    )
    return table if has_names else table.set_axis([f"column_{i + 1}" for i in range(table.shape[1])], axis=1)


def numbers(cells):
    """Numbers, with a decimal point or a decimal comma."""
    if pd.api.types.is_numeric_dtype(cells):
        return cells
    return pd.to_numeric(cells.str.replace(r"^([-+]?[0-9]*),([0-9]+)$", r"\1.\2", regex=True))


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
    # Yes and no are known in any words.
    truth = {word: False for word in ("false", "no", "off", "f", "n", "0")}
    truth.update({word: True for word in ("true", "yes", "on", "t", "y", "1")})
    by_truth = {truth[level.lower()]: code for level, code in by_text.items() if level.lower() in truth}
    is_truth = len(levels) == 2 and len(by_truth) == 2 and not by_number

    def code(cell):
        if pd.isna(cell):
            return np.nan
        text = str(cell).strip()
        for spelling in (text, text.lower()):
            if spelling in by_text:
                return by_text[spelling]
        if is_truth and text.lower() in truth:
            return by_truth[truth[text.lower()]]
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
        cells = by_rule(table[name], *RULES[name]) if name in RULES else table[name]
        if kind == "number":
            columns.append(numbers(cells))
        elif isinstance(kind, list):
            columns.append(codes(cells, kind))
        elif isinstance(kind, dict):
            columns.extend(text_numbers(cells, kind["groups"]))
        else:
            instants = pd.to_datetime(cells, utc=True)
            columns.extend(date_part(instants, part) for part in kind)
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


