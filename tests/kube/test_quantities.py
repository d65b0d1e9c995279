from __future__ import annotations

import pytest

from hintbound.kube.quantities import milli, units


@pytest.mark.parametrize(
    ("quantity", "thousandths"),
    [("2", 2000), ("0.5", 500), ("250m", 250), ("0.0001", 1), ("1500.5m", 1501), (".5", 500), ("100u", 1)],
)
def test_cpu_is_counted_in_thousandths_rounded_up(quantity: str, thousandths: int) -> None:
    assert milli(quantity) == thousandths


@pytest.mark.parametrize(
    ("quantity", "whole"),
    [
        ("110", 110),
        ("16Gi", 16 * 2**30),
        ("1k", 1000),
        ("1.5Mi", 3 * 2**19),
        ("1e3", 1000),
        ("1E3", 1000),
        ("2E", 2 * 10**18),
        ("1500m", 2),
        ("+1Ei", 2**60),
    ],
)
def test_other_resources_are_counted_in_whole_units_rounded_up(quantity: str, whole: int) -> None:
    assert units(quantity) == whole


@pytest.mark.parametrize("text", ["", "cpu", "1 Gi", "1ki", "1GiB", "e3", "--1", "1e3k"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        units(text)
