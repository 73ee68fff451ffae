"""Formulas that repeat their symbol are recognized."""

import pytest
from roofslate.lecture_report.identities import repeats_symbol


@pytest.mark.parametrize(
    ("symbol", "formula"),
    [
        (r"B\ell", r"B \, \ell"),
        ("G_u h", r"G_u \, h"),
        ("X/G_e", r"\dfrac{X}{G_e}"),
        ("w N_t/G", r"\dfrac{w N_t}{G}"),
        (r"\bar N", r"N_a \, \bar N/N_a"),
        (r"c_\uparrow^*/c_\downarrow^*", r"\dfrac{c_\uparrow^*}{c_\downarrow^*}"),
        (r"n_\mu(1 + \rho_b)", r"n_\mu \, \left(1 + \rho_b\right)"),
        ("k_i/m_i", r"\dfrac{k_i}{m_i}"),
        ("b_w", "b_w"),
    ],
)
def test_repetitions(symbol, formula):
    assert repeats_symbol(symbol, formula)


@pytest.mark.parametrize(
    ("symbol", "formula"),
    [
        ("t_w", r"\dfrac{W_f}{M}"),
        ("X/G_e", r"\dfrac{G_e}{X}"),
        ("X/G_e", r"\dfrac{X}{G}"),
        ("p_s/q", r"\dfrac{p_s}{q_s}"),
        ("6", "2 + 4"),
        ("G", r"G \, h"),
        (r"t_r", r"\max\left(t_r, t_w\right)"),
        (r"k_o", r"k \, \dfrac{R - 1}{R}"),
        ("s", r"\dfrac{N_t}{N_a}"),
        ("q", r"q \, q"),
        (r"p(v_a)", r"\dfrac{\rho}{v_\infty - v_a}"),
        ("a", r"a \, \left(b \, \left(c\right)\right)"),
    ],
)
def test_formulas(symbol, formula):
    assert not repeats_symbol(symbol, formula)
