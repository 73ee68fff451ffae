// THE LIST of base units, and Dimension: the unit of a value, as exponents of base units. Formulas run on it at compile
// time, definitions and conditions at run time.
#pragma once
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

// Its name; measured, or counted, which texts may leave out; its rank among divisors: FLOP/parameter/token,
// byte/s/chip.
#define ROOFSLATE_BASE_UNITS(UNIT) \
    UNIT(FLOP, measured, 0)        \
    UNIT(byte, measured, 1)        \
    UNIT(token, counted, 3)        \
    UNIT(sequence, counted, 4)     \
    UNIT(parameter, counted, 2)    \
    UNIT(chip, counted, 6)         \
    UNIT(s, measured, 5)           \
    UNIT(USD, measured, 7)         \
    UNIT(J, measured, 8)           \
    UNIT(kg, measured, 9)          \
    UNIT(m, measured, 10)          \
    UNIT(gCO2, measured, 11)

namespace roofslate
{
    enum class UnitKind
    {
        measured,
        counted
    };
    struct BaseUnit
    {
        std::string_view name;
        UnitKind kind;
        int rank;
    };
    inline constexpr BaseUnit base_units[]{
#define ROOFSLATE_BASE_UNIT(name, kind, rank) {#name, UnitKind::kind, rank},
        ROOFSLATE_BASE_UNITS(ROOFSLATE_BASE_UNIT)
#undef ROOFSLATE_BASE_UNIT
    };
    inline constexpr std::size_t base_unit_count = std::size(base_units);

    struct Dimension
    {
        std::array<int, base_unit_count> halves{}; // exponents times two, so that a square root has a unit
        bool any = false; // the literals 0 and infinity fit every unit
        bool written = false; // a number in a text: it may leave out counted units
        bool mixed = false; // unlike units were added, compared or chosen between

        constexpr Dimension() = default;
        constexpr Dimension(double literal) : any(literal == 0 || literal > 1e308 || literal < -1e308) {}
    };

    constexpr bool same_unit(const Dimension& a, const Dimension& b)
    {
        for (std::size_t i = 0; i < base_unit_count; ++i)
            if (a.halves[i] != b.halves[i])
                return false;
        return true;
    }
    // Whether a value in one unit may be given for the other: counted units may be left out.
    constexpr bool fits(const Dimension& given, const Dimension& expected)
    {
        for (std::size_t i = 0; i < base_unit_count; ++i)
            if (given.halves[i] != expected.halves[i]
                && !(given.halves[i] == 0 && base_units[i].kind == UnitKind::counted))
                return false;
        return true;
    }

    namespace detail
    {
        constexpr bool fits_literal(const Dimension& literal, const Dimension& other)
        { return literal.any || (literal.written && fits(literal, other)); }
        constexpr Dimension alike(const Dimension& a, const Dimension& b)
        {
            const bool is_first = same_unit(a, b) || fits_literal(b, a);
            Dimension r = is_first || !fits_literal(a, b) ? a : b;
            r.any = a.any && b.any;
            r.written = a.written && b.written;
            r.mixed = a.mixed || b.mixed || !(is_first || fits_literal(a, b));
            return r;
        }
        constexpr Dimension number(const Dimension& a)
        {
            Dimension r;
            r.written = a.written;
            r.mixed = a.mixed || !(a.any || same_unit(a, Dimension{}));
            return r;
        }
    }

    // Exponents times a ratio; mixed where they are no multiples of 1/2, or too large for an int.
    constexpr Dimension power(Dimension a, long long numerator, long long denominator)
    {
        constexpr long long large = 1 << 30;
        for (int& h : a.halves)
        {
            const long long scaled = h * numerator;
            const bool is_exponent = scaled % denominator == 0 && -large < scaled && scaled < large;
            a.mixed = a.mixed || !is_exponent;
            h = is_exponent ? int(scaled / denominator) : 0;
        }
        return a;
    }
    constexpr Dimension operator*(const Dimension& a, const Dimension& b)
    {
        Dimension r = a;
        for (std::size_t i = 0; i < base_unit_count; ++i)
            r.halves[i] += b.halves[i];
        r.any = a.any || b.any;
        r.written = a.written && b.written;
        r.mixed = a.mixed || b.mixed;
        return r;
    }
    constexpr Dimension operator/(const Dimension& a, const Dimension& b) { return a * power(b, -1, 1); }
    constexpr Dimension operator+(const Dimension& a, const Dimension& b) { return detail::alike(a, b); }
    constexpr Dimension operator-(const Dimension& a, const Dimension& b) { return detail::alike(a, b); }
    constexpr Dimension operator-(const Dimension& a) { return a; }
    constexpr Dimension min(const Dimension& a, const Dimension& b) { return detail::alike(a, b); }
    constexpr Dimension max(const Dimension& a, const Dimension& b) { return detail::alike(a, b); }
    constexpr Dimension sqrt(const Dimension& a) { return power(a, 1, 2); }
    constexpr Dimension ceil(const Dimension& a) { return a; }
    constexpr Dimension floor(const Dimension& a) { return a; }
    constexpr Dimension exp(const Dimension& a) { return detail::number(a); }
    constexpr Dimension log(const Dimension& a) { return detail::number(a); }
    constexpr Dimension pow(const Dimension& a, const Dimension& b)
    {
        Dimension r = detail::number(a);
        r.written = a.written && b.written;
        r.mixed = r.mixed || detail::number(b).mixed;
        return r;
    }
    // How many tokens, sequences, parameters or chips: a pure number.
    constexpr Dimension count(const Dimension& a)
    {
        Dimension r = a;
        for (std::size_t i = 0; i < base_unit_count; ++i)
            if (base_units[i].kind == UnitKind::counted)
                r.halves[i] = 0;
        r = detail::number(r);
        r.any = a.any;
        return r;
    }

    struct DimensionCondition
    { bool mixed; };
    namespace detail
    {
        constexpr DimensionCondition compared(const Dimension& a, const Dimension& b) { return {alike(a, b).mixed}; }
    }
    constexpr DimensionCondition operator<(const Dimension& a, const Dimension& b) { return detail::compared(a, b); }
    constexpr DimensionCondition operator<=(const Dimension& a, const Dimension& b) { return detail::compared(a, b); }
    constexpr DimensionCondition operator>(const Dimension& a, const Dimension& b) { return detail::compared(a, b); }
    constexpr DimensionCondition operator>=(const Dimension& a, const Dimension& b) { return detail::compared(a, b); }
    constexpr DimensionCondition operator==(const Dimension& a, const Dimension& b) { return detail::compared(a, b); }
    constexpr DimensionCondition operator&&(const DimensionCondition& a, const DimensionCondition& b)
    { return {a.mixed || b.mixed}; }
    constexpr DimensionCondition operator||(const DimensionCondition& a, const DimensionCondition& b)
    { return {a.mixed || b.mixed}; }
    constexpr Dimension select(const DimensionCondition& c, const Dimension& a, const Dimension& b)
    {
        Dimension r = detail::alike(a, b);
        r.mixed = r.mixed || c.mixed;
        return r;
    }

    // "USD/token", "FLOP/parameter/token", "byte*token", "1": read left to right.
    constexpr Dimension unit(std::string_view text)
    {
        Dimension r;
        int sign = 1;
        while (!text.empty())
        {
            if (text[0] == '/' || text[0] == '*')
            {
                sign = text[0] == '/' ? -1 : 1;
                text.remove_prefix(1);
                continue;
            }
            const std::string_view word = text.substr(0, text.find_first_of("/*"));
            bool known = word == "1";
            for (std::size_t i = 0; i < base_unit_count; ++i)
                if (base_units[i].name == word)
                {
                    r.halves[i] += 2 * sign;
                    known = true;
                }
            if (!known)
                throw "this unit is not made of base units: see ROOFSLATE_BASE_UNITS";
            text.remove_prefix(word.size());
        }
        return r;
    }

    // For the run time of the program.
    inline constexpr int greatest_exponent = 4; // of units that texts may have
    std::string spell(const Dimension& dimension); // FLOP/s/chip, 1/s, byte^0.5
    const Dimension& require_readable(const Dimension& dimension); // no exponent is greater
    Dimension root(const Dimension& dimension); // refuses one without a unit

    // A unit as a type, so that the compiler's message spells it: unit_of<per<USD, 1>, per<token, -1>>.
    namespace spelled
    {
        enum class Position : std::size_t
        {
#define ROOFSLATE_BASE_UNIT(name, kind, rank) name,
            ROOFSLATE_BASE_UNITS(ROOFSLATE_BASE_UNIT)
#undef ROOFSLATE_BASE_UNIT
        };
        template <std::size_t position> struct base;
#define ROOFSLATE_BASE_UNIT(name, kind, rank)                         \
    struct name;                                                      \
    template <> struct base<static_cast<std::size_t>(Position::name)> \
    {                                                                 \
        using type = name;                                            \
    };
        ROOFSLATE_BASE_UNITS(ROOFSLATE_BASE_UNIT)
#undef ROOFSLATE_BASE_UNIT
        template <class BaseUnit, int exponent> struct power;
        template <class BaseUnit, int exponent> struct root; // half-integer exponents
        template <class... Powers> struct unit;

        template <
            class Unit,
            class BaseUnit,
            int halves,
            bool present = halves != 0,
            bool even = halves % 2 == 0> struct append;
        template <class... P, class B, int H, bool W> struct append<unit<P...>, B, H, false, W>
        {
            using type = unit<P...>;
        };
        template <class... P, class B, int H> struct append<unit<P...>, B, H, true, true>
        {
            using type = unit<P..., power<B, H / 2>>;
        };
        template <class... P, class B, int H> struct append<unit<P...>, B, H, true, false>
        {
            using type = unit<P..., root<B, H>>;
        };
        // The unit whose exponents times two are Which::halves(position).
        template <
            class Which,
            class Unit = unit<>,
            std::size_t position = 0,
            bool complete = position == base_unit_count>
        struct build
            : build<
                  Which,
                  typename append<Unit, typename base<position>::type, Which::halves(position)>::type,
                  position + 1>
        {
        };
        template <class Which, class Unit, std::size_t position> struct build<Which, Unit, position, true>
        {
            using type = Unit;
        };
    }
}
