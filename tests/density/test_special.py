"""pdf, cdf and quantile of the families against mpmath, in the middle and deep in the tails."""

import mpmath
import numpy as np
import pytest

from gstar_fast import _backends

pytestmark = pytest.mark.every_backend  # each has functions of its own

WHOLE_LINE = (0.0, 0.0, -1.0, 1.0)  # no mass at the infinities; thresholds are not looked for here
SMALLEST = mpmath.mpf("1e-300")


@pytest.fixture(autouse=True)
def forty_digits():
    with mpmath.workdps(40):
        yield


def family(name, *parameters):
    return _backends.room("density").family(name, parameters, *WHOLE_LINE)


def assert_close(got, want, x, relative=1e-11):
    for g, w, at in zip(got, want, x, strict=True):
        if abs(w) > SMALLEST:
            assert abs(mpmath.mpf(float(g)) - w) <= relative * abs(w), f"{g} is not {w} at {at}"
        else:
            assert abs(g) <= 1e-300


def student_t_cdf(df, t):
    df, t = mpmath.mpf(df), mpmath.mpf(float(t))
    x = df / (df + t * t)
    # As a hypergeometric series: mpmath's betainc loses digits for many degrees of freedom.
    ratio = mpmath.exp(mpmath.loggamma((df + 1) / 2) - mpmath.loggamma(df / 2)) / mpmath.sqrt(mpmath.pi)
    tail = ratio * x ** (df / 2) * mpmath.sqrt(1 - x) / df * mpmath.hyp2f1(df / 2 + 0.5, 1, df / 2 + 1, x)
    return tail if t < 0 else 1 - tail


def student_t_pdf(df, t):
    df, t = mpmath.mpf(df), mpmath.mpf(float(t))
    ratio = mpmath.exp(mpmath.loggamma((df + 1) / 2) - mpmath.loggamma(df / 2))
    return ratio / mpmath.sqrt(mpmath.pi * df) * (1 + t * t / df) ** (-(df + 1) / 2)


def test_normal_is_right_in_the_tails(backend):
    z = np.concatenate((np.linspace(-37, 37, 75), [-1e-9, 1e-300]))
    cdf, pdf = family("normal", 0.0, 1.0).at(z)
    assert_close(cdf, [mpmath.ncdf(float(v)) for v in z], z)
    assert_close(pdf, [mpmath.npdf(float(v)) for v in z], z)


@pytest.mark.parametrize("df", [0.1, 0.5, 1.0, 2.235, 3.7, 30.0, 1234.5, 1e5])
def test_student_t_is_right_in_the_tails(backend, df):
    t = np.concatenate((-np.logspace(-10, min(12.0, 250.0 / df), 25), -np.linspace(0.5, 30, 12), np.logspace(-6, 3, 8)))
    cdf, pdf = family("student_t", df, 0.0, 1.0).at(t)
    assert_close(cdf, [student_t_cdf(df, v) for v in t], t)
    assert_close(pdf, [student_t_pdf(df, v) for v in t], t)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("shape", [1.0, 1.5, 3.0, 33.3, 1000.0, 1e4])
def test_gamma_is_right_in_both_tails(backend, shape, mirrored):
    deviation = np.sqrt(shape)
    x = shape + deviation * np.linspace(-6.0, 25.0, 40)
    x = np.concatenate((x[x > 0], shape * np.logspace(-3 if shape < 50 else -0.2, -0.01, 12)))
    cdf, pdf = family("gamma", shape, 0.0, 1.0, mirrored).at(-x if mirrored else x)
    ends = [(mpmath.mpf(float(v)), mpmath.inf) if mirrored else (0, mpmath.mpf(float(v))) for v in x]
    assert_close(cdf, [mpmath.gammainc(shape, *end, regularized=True) for end in ends], x)
    log_pdf = [(shape - 1) * mpmath.log(float(v)) - float(v) - mpmath.loggamma(shape) for v in x]
    assert_close(pdf, [mpmath.exp(v) for v in log_pdf], x)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("normal", (1.0, 2.0)),
        ("student_t", (2.235, -0.567, 0.756)),
        ("student_t", (1e5, 0.0, 1.0)),
        ("gamma", (1.0, 0.0, 3.0, False)),
        ("gamma", (40.0, 2.0, 0.1, False)),
        ("gamma", (3.5, 2.0, 0.1, True)),
    ],
)
def test_quantile_undoes_the_cdf(backend, name, parameters):
    made = family(name, *parameters)
    p = np.array([1e-12, 1e-6, 0.01, 0.3, 0.5, 0.7, 0.999, 1 - 1e-9])
    assert made.at(made.quantile(p))[0] == pytest.approx(p, rel=1e-9, abs=1e-14)


def test_a_quantile_beyond_the_largest_number_is_infinite(backend):
    assert family("student_t", 0.1, 0.0, 1.0).quantile(np.array([1e-200, 1.0])).tolist() == [-np.inf, np.inf]


def test_ends_of_the_number_line(backend):
    x = np.array([-np.inf, -1e300, 1e300, np.inf, np.nan])
    for made in (
        family("normal", 0.0, 1.0),
        family("student_t", 2.0, 0.0, 1.0),
        family("gamma", 2.0, 0.0, 1.0, False),
        family("gamma", 2.0, 0.0, 1.0, True),
    ):
        cdf, pdf = made.at(x)
        assert cdf[:4].tolist() == [0.0, pytest.approx(0.0, abs=1e-200), 1.0, 1.0]
        assert pdf[:4] == pytest.approx(0.0, abs=1e-200)
        assert np.isnan(cdf[4])
        assert np.isnan(pdf[4])
