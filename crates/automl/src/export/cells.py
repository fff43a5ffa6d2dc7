def number_of(text, decimal):
    """A number with a currency, a percent sign, thousands separators or a decimal comma."""
    is_negative = text.startswith("(") or re.match(r"[^0-9]*[-\u2212]", text) is not None
    digits = re.sub(r"[^0-9.,]", "", text)
    digits = digits.replace(".", "").replace(",", ".") if decimal == "," else digits.replace(",", "")
    return float(digits) * (-1 if is_negative else 1)


def seconds_of(text, first):
    """A duration or a time of day in seconds: 1h30m, 01:23:45, 1:30 PM; 12:30 begins with hours or with minutes."""
    text = text.lower()
    seconds = 0.0
    clock = re.search(r"([0-9]+):([0-9]{2}(?:[.][0-9]+)?)(?::([0-9]{2}(?:[.][0-9]+)?))?", text)
    units = text
    if clock:
        a, b, c = (float(part or 0) for part in clock.groups())
        half = text.endswith(("am", "pm"))
        if clock.group(3) is None and first == "minutes" and not half:
            a, b, c = 0.0, a, b
        a = a % 12 + 12 * text.endswith("pm") if half else a
        seconds, units = 3600 * a + 60 * b + c, text[: clock.start()]
    sizes = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
    for number, unit in re.findall(r"([0-9.]+) *([a-z]+)", units):
        seconds += float(number) * (1e-3 if unit.startswith(("ms", "mil")) else sizes[unit[0]])
    if not clock and not re.search("[0-9]", text):
        raise ValueError(text)
    return -seconds if text.startswith("-") else seconds


def by_rule(cells, kind, how):
    """Cells as the model reads them; what is none of the kind is missing."""
    if kind == "date":
        to_date = lambda cell: pd.to_datetime(cell, utc=True, dayfirst=how == "day first", errors="coerce")
        return pd.Series([to_date(cell) for cell in cells], index=cells.index, dtype="datetime64[ns, UTC]")
    if pd.api.types.is_numeric_dtype(cells):
        return cells

    def value(cell):
        try:
            text = str(cell).strip()
            return np.nan if pd.isna(cell) else number_of(text, how) if kind == "number" else seconds_of(text, how)
        except (KeyError, ValueError):
            return np.nan

    return pd.Series([value(cell) for cell in cells], index=cells.index, dtype=float)


def text_numbers(cells, groups):
    """Free text as its length, its number of words, and how many of them fall into each group."""

    def group(word):
        hashed = 0x811C9DC5
        for byte in word.lower().encode():
            hashed = (hashed ^ byte) * 0x01000193 % 2**32
        return hashed % 64

    texts = [None if pd.isna(cell) else str(cell) for cell in cells]
    words = [[] if text is None else re.findall(r"[^\W_]+", text) for text in texts]
    found = [[group(word) for word in row] for row in words]
    yield [np.nan if text is None else len(text) for text in texts]
    yield [np.nan if text is None else len(row) for text, row in zip(texts, words)]
    for number in groups:
        yield [row.count(number) for row in found]


