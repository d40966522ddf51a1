package report

import (
	"strconv"
	"strings"
)

// digitsShown are the digits of a number in a table that count: enough to compare, few enough to read.
const digitsShown = 6

// newCell is a cell of a column.
func newCell(text string, number bool) cell {
	if short := rounded(text); number && short != text {
		return cell{short, true, strings.TrimSpace(text)}
	}
	return cell{Text: text, Number: number}
}

// rounded is a number with fewer digits behind its point, if it has more than count. All else stays as it is written: whole
// numbers, which may be identifiers, the digits before a point, and numbers that are as short as this already.
func rounded(text string) string {
	trimmed := strings.TrimSpace(text)
	whole, rest, point := strings.Cut(strings.TrimLeft(trimmed, "+-"), ".")
	fraction, exponent := cutExponent(rest)
	if !point || !digits(whole) || !digits(fraction) || len(significant(whole+fraction)) <= digitsShown {
		return text
	}
	x, err := strconv.ParseFloat(trimmed, 64)
	if err != nil {
		return text
	}
	short := strconv.FormatFloat(x, 'e', digitsShown-1, 64)
	if exponent == "" && abs(x) >= 1e-4 {
		decimals := max(digitsShown-len(strings.TrimLeft(whole, "0")), 2)
		if strings.TrimLeft(whole, "0") == "" { // zeros behind the point do not count
			decimals += len(fraction) - len(strings.TrimLeft(fraction, "0"))
		}
		short = strings.TrimRight(strconv.FormatFloat(x, 'f', decimals, 64), "0")
		if strings.HasSuffix(short, ".") { // it is no whole number
			short += "0"
		}
	}
	if len(short) >= len(trimmed) {
		return text
	}
	return short
}

func abs(x float64) float64 { return max(x, -x) }

func cutExponent(text string) (fraction, exponent string) {
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// significant leaves out leading zeros.
func significant(text string) string { return strings.TrimLeft(text, "0") }

// Rounded is a number with the digits that count in a table.
func Rounded(text string) string { return rounded(text) }
