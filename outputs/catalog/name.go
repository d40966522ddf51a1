package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// Name is a user's name for a run.
type Name struct {
	// Last is true for "@last"; the other fields are empty then.
	Last bool
	// ID is a whole id or a prefix.
	ID string
	// Attempt counts from 1; 0 means the last.
	Attempt int
}

// ParseName parses "@last", "ID" and "ID@ATTEMPT". Its error wraps ErrNotFound: an invalid name names no run.
func ParseName(text string) (Name, error) {
	if text == "@last" {
		return Name{Last: true}, nil
	}
	id, attempt, found := strings.Cut(text, "@")
	if id == "" {
		return Name{}, fmt.Errorf(`run %q: want ID, ID@ATTEMPT or @last: %w`, text, ErrNotFound)
	}
	if !found {
		return Name{ID: id}, nil
	}
	n, err := strconv.ParseInt(attempt, 10, 32)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != attempt {
		return Name{}, fmt.Errorf("run %q: the attempt %q is no number from 1 on: %w", text, attempt, ErrNotFound)
	}
	return Name{ID: id, Attempt: int(n)}, nil
}

// String is the inverse of ParseName.
func (n Name) String() string {
	switch {
	case n.Last:
		return "@last"
	case n.Attempt == 0:
		return n.ID
	default:
		return n.ID + "@" + strconv.Itoa(n.Attempt)
	}
}

// shown is how many ids an ErrAmbiguous lists.
const shown = 5

// Key resolves the ID or prefix by beginWith, which returns up to limit ids with that prefix, in order. It returns
// ErrNotFound, or ErrAmbiguous with some of the ids.
func (n Name) Key(beginWith func(prefix string, limit int) ([]string, error)) (Key, error) {
	ids, err := beginWith(n.ID, shown+1)
	switch {
	case err != nil:
		return Key{}, err
	case len(ids) == 0:
		return Key{}, ErrNotFound
	case ids[0] == n.ID || len(ids) == 1: // a prefix sorts before all ids that extend it
		return Key{ID: ids[0], Attempt: n.Attempt}, nil
	}
	more := ""
	if len(ids) > shown {
		ids, more = ids[:shown], " and more"
	}
	return Key{}, fmt.Errorf("%w: it begins %s%s", ErrAmbiguous, strings.Join(ids, ", "), more)
}

// ValidText is a text that the columns of every catalog can hold: UTF-8, and without NUL, which PostgreSQL refuses.
func ValidText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
