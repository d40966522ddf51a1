package spec

import (
	"strconv"
	"strings"
)

// Units as people write them, and decimal commas. More digits after a comma may be thousands.
var (
	sizeMeant     = pattern(`^([0-9]+)(?:[.,]([0-9]{1,2}))? ?([kmgtp])(?:i?b(?:ytes?)?|igs?|egs?|(?:ilo|ega|iga|era|eta|ibi|ebi)(?:bytes?)?)?$`)
	durationMeant = pattern(`^([0-9]+)(?:[.,]([0-9]{1,2}))? ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$`)
)

// meantSize ends the refusal of a size with what was probably meant, or is empty.
func meantSize(s string) string {
	form := sizeMeant().FindStringSubmatch(strings.ToLower(strings.TrimSpace(s)))
	if form == nil {
		return ""
	}
	return meant(decimal(form), strings.ToUpper(form[3])+"iB")
}

// meantDuration ends the refusal of a duration with what was probably meant, or is empty.
func meantDuration(s string) string {
	text := strings.ToLower(strings.TrimSpace(s))
	if joined := strings.Join(strings.Fields(text), ""); joined != s && durationForm().MatchString(joined) {
		return "; did you mean " + joined + "?"
	}
	form := durationMeant().FindStringSubmatch(text)
	if form == nil {
		return ""
	}
	number, unit := decimal(form), form[3][:1]
	if unit == "w" {
		number, unit = 7*number, "d"
	}
	return meant(number, unit)
}

// decimal is the number before a unit.
func decimal(form []string) float64 {
	number, _ := strconv.ParseFloat(form[1]+"."+form[2], 64) // the expression admits digits only; too many make it infinite
	return number
}

func meant(number float64, unit string) string {
	if number <= 0 || number > 1e6 {
		return ""
	}
	return "; did you mean " + strconv.FormatFloat(number, 'f', -1, 64) + unit + "?"
}
