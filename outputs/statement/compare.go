package statement

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// difference returns the first difference of two JSON values as an error that names the field, nil if they are equal. Numbers are
// equal if they are written alike.
func difference(path string, got, want any) error {
	switch want := want.(type) {
	case object:
		got, ok := got.(object)
		if !ok {
			break
		}
		return objectDifference(path, got, want)
	case []any:
		got, ok := got.([]any)
		if !ok {
			break
		}
		return listDifference(path, got, want)
	default:
		if got == want {
			return nil
		}
	}
	return fmt.Errorf("%s is %s and not %s", path, shown(got), shown(want))
}

func objectDifference(path string, got, want object) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, ok := got[name]
		if !ok {
			return fmt.Errorf("%s is missing", below(path, name))
		}
		if err := difference(below(path, name), value, want[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			return fmt.Errorf("%s is not expected", below(path, name))
		}
	}
	return nil
}

func listDifference(path string, got, want []any) error {
	for i := range min(len(got), len(want)) {
		if err := difference(at(path, i), got[i], want[i]); err != nil {
			return err
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d elements and not %d", path, len(got), len(want))
	}
	return nil
}

// shownMax bounds a value in a message, in bytes.
const shownMax = 80

// shown is a value for a message.
func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil || len(text) > shownMax {
		return fmt.Sprintf("%.*s...", shownMax, text)
	}
	return string(text)
}
