"""Fits the polynomials of Math.cpp and prints them with their errors.

Lawson's method: least squares reweighted by the error until it is level, which is the
minimax polynomial. Relative error unless said otherwise. Needs NumPy only; run by hand
when a degree or a range changes.
"""

import numpy as np

Real = np.longdouble


def lawson(basis, target, scale, rounds=400):
    """Coefficients c of basis @ c ~ target with minimax of |error| / scale."""
    weight = np.ones(len(target), dtype=float) / len(target)
    a = (basis / scale[:, None]).astype(float)
    y = (target / scale).astype(float)
    for _ in range(rounds):
        root = np.sqrt(weight)
        c, *_ = np.linalg.lstsq(a * root[:, None], y * root, rcond=None)
        error = np.abs(a @ c - y)
        weight = weight * (error + 1e-30)
        weight /= weight.sum()
    return c, error.max()


def chebyshev(low, high, count=4000):
    x = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    return ((high - low) * x / 2 + (high + low) / 2).astype(Real)


def show(name, coefficients, error, width="f"):
    text = ", ".join(f"{float(c):.9e}{width}" if width else f"{float(c):.17e}" for c in coefficients)
    print(f"{name}: {{{text}}}  // {error:.2e}")


def exp2_minus_one(degree):
    """2^r = 1 + r p(r) on [-1/2, 1/2]; the constant 1 makes 2^0 exact."""
    r = chebyshev(-0.5, 0.5)
    r = r[r != 0]
    target = np.exp2(r) - 1
    basis = np.stack([r ** (i + 1) for i in range(degree)], axis=1)
    c, error = lawson(basis, target, np.exp2(r))
    show(f"exp2 degree {degree}", c, error)


def log1p(degree, width="f"):
    """log(1 + f) = f - f^2/2 + f^3 p(f) on [1/sqrt(2) - 1, sqrt(2) - 1]."""
    f = chebyshev(2**-0.5 - 1, 2**0.5 - 1)
    f = f[np.abs(f) > 1e-4]
    exact = np.log1p(f)
    target = exact - f + f * f / 2
    basis = np.stack([f ** (i + 3) for i in range(degree + 1)], axis=1)
    c, error = lawson(basis, target, np.abs(exact))
    show(f"log1p degree {degree}", c, error, width)


def tanh_rational(numerator, denominator, bound):
    """tanh(x) = x P(x^2) / Q(x^2) on [-bound, bound], Q(0) = 1."""
    x = chebyshev(1e-3, bound, 6000)
    t = np.tanh(x)
    previous = np.ones_like(x)
    weight = np.ones(len(x)) / len(x)
    for _ in range(600):
        p = np.stack([x ** (2 * i + 1) for i in range(numerator + 1)], axis=1)
        q = np.stack([-t * x ** (2 * i) for i in range(1, denominator + 1)], axis=1)
        a = (np.concatenate([p, q], axis=1) / (previous * t)[:, None]).astype(float)
        y = (t / (previous * t)).astype(float)
        norm = np.abs(a).max(axis=0)
        root = np.sqrt(weight)
        c, *_ = np.linalg.lstsq(a / norm * root[:, None], y * root, rcond=None)
        c = c / norm
        top = sum(c[i] * x ** (2 * i + 1) for i in range(numerator + 1))
        previous = 1 + sum(c[numerator + i] * x ** (2 * i) for i in range(1, denominator + 1))
        error = np.abs((top / previous / t - 1).astype(float))
        weight = weight * (error + 1e-12)
        weight /= weight.sum()
    show("tanh numerator", c[: numerator + 1], error.max())
    show("tanh denominator", np.concatenate([[1.0], c[numerator + 1 :]]), error.max())


def erf_values(x):
    """erf by its Taylor series in extended precision, good below 4."""
    x = x.astype(Real)
    term, total = x.copy(), x.copy()
    for n in range(1, 120):
        term = -term * x * x / n
        total = total + term / (2 * n + 1)
    return total * 2 / np.sqrt(Real(np.pi))


def erfc_values(x):
    """erfc by its continued fraction (Lentz), good above 1."""
    x = x.astype(Real)
    f = x.copy()
    for n in range(400, 0, -1):
        f = x + Real(n) / 2 / f
    return np.exp(-x * x) / f / np.sqrt(Real(np.pi))


def erf_pieces(split, bound, small, large):
    x = chebyshev(1e-3, split)
    exact = erf_values(x)
    basis = np.stack([x ** (2 * i + 1) for i in range(small + 1)], axis=1)
    c, error = lawson(basis, exact, exact)
    show("erf below the split, x p(x^2)", c, error)
    x = chebyshev(split, bound)
    exact = np.log2(erfc_values(x))
    # Error of 1 - 2^p relative to erf: |2^p ln2 dp| / erf.
    scale = (1 - np.exp2(exact)) / (np.exp2(exact) * np.log(Real(2)))
    basis = np.stack([x**i for i in range(large + 1)], axis=1)
    c, error = lawson(basis, exact, scale)
    show("log2 erfc above the split, p(x)", c, error)


def sine_cosine():
    r = chebyshev(1e-3, np.pi / 4)
    c, error = lawson(np.stack([r ** (2 * i + 1) for i in range(6)], axis=1), np.sin(r), np.sin(r))
    show("sin, r p(r^2)", c, error, "")
    c, error = lawson(np.stack([r ** (2 * i) for i in range(7)], axis=1), np.cos(r), np.cos(r))
    show("cos, p(r^2)", c, error, "")


def exp2_double(degree):
    r = chebyshev(-0.5, 0.5)
    basis = np.stack([r**i for i in range(degree + 1)], axis=1)
    c, error = lawson(basis, np.exp2(r), np.exp2(r))
    show(f"exp2 in double, degree {degree}", c, error, "")


if __name__ == "__main__":
    for degree in (3, 5, 6, 7):
        exp2_minus_one(degree)
    for degree in (6, 7, 8):
        log1p(degree)
    log1p(14, "")
    tanh_rational(3, 4, 9.1)
    tanh_rational(4, 4, 9.1)
    tanh_rational(4, 5, 9.1)
    erf_pieces(0.9, 4.0, 5, 6)
    erf_pieces(1.0, 4.0, 6, 7)
    sine_cosine()
    exp2_double(9)
