def test_python_is_here():
    import pandas, pyarrow  # noqa: F401
