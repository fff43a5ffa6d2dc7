def text_of(path):
    """UTF-8 with or without its mark, UTF-16 with one, else Windows-1252, which leaves five bytes to Latin-1; compressed or not."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        windows = {code: bytes([code]).decode("cp1252", errors="ignore") for code in range(0x80, 0xA0)}
        return data.decode("latin-1").translate({code: text for code, text in windows.items() if text})


def read(path):
    """A table as the model's was read: Parquet, Arrow, or text, separated as that was unless another delimiter fits better."""
    if path.endswith((".parquet", ".pq")):
        return pd.read_parquet(path)
    if path.endswith((".arrow", ".feather", ".ipc")):
        return pd.read_feather(path)
    # Blank lines are nothing at the ends, and rows of missing cells between others.
    text = text_of(path).strip("\r\n")
    names = [*COLUMNS, TARGET]

    def n_fitting(delimiter):
        cells = next(csv.reader([text.splitlines()[0]], delimiter=delimiter, skipinitialspace=True))
        # Columns of a table without names are called by their positions.
        found = cells if HAS_NAMES else [f"column_{i + 1}" for i in range(len(cells))]
        return len([name for name in found if name in names])

    table = pd.read_csv(
        io.StringIO(text),
        sep=max([DELIMITER, ",", "\t", ";", "|", " "], key=n_fitting),
        header=0 if HAS_NAMES else None,
        dtype=str,
        keep_default_na=False,
        na_values=MISSING,
        skipinitialspace=True,
        skip_blank_lines=False,
    )
    return table if HAS_NAMES else table.set_axis([f"column_{i + 1}" for i in range(table.shape[1])], axis=1)


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


