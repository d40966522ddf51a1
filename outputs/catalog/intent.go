package catalog

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ValidateIntent returns why Create cannot keep r, or nil. A dialect may refuse more.
func (r Run) ValidateIntent() error {
	switch {
	case r.ID == "" || !utf8.ValidString(r.ID):
		return errors.New("this cannot be an id")
	case r.Attempt < 1:
		return errors.New("attempts count from 1")
	case r.CreatedAt.IsZero():
		return errors.New("the time of creation is missing")
	case r.State.Final():
		return fmt.Errorf("state %q is final; only a commit ends a run", r.State)
	}
	for key, value := range r.Labels {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return fmt.Errorf("label %q=%q is not UTF-8", key, value)
		}
	}
	return nil
}

// ValidateEnd returns why Commit cannot keep r, or nil, as far as that can be told without a database.
func (r Run) ValidateEnd() error {
	if !r.State.Final() {
		return fmt.Errorf("state %q is not final", r.State)
	}
	for i, event := range r.Events {
		if err := event.Validate(); err != nil {
			return fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	return nil
}

// MostIDs is how many ids that begin with a prefix OneID needs.
const MostIDs = shown + 1

// shown is how many ids an ambiguous prefix is answered with.
const shown = 5

// OneID returns the one id that is prefix or begins with it, of the first MostIDs ids that do, in order. It returns
// ErrNotFound, or ErrAmbiguous with some of the ids.
func OneID(prefix string, ids []string) (string, error) {
	switch {
	case len(ids) == 0:
		return "", ErrNotFound
	case ids[0] == prefix || len(ids) == 1: // a prefix sorts before all that begin with it
		return ids[0], nil
	}
	more := ""
	if len(ids) > shown {
		ids, more = ids[:shown], " and more"
	}
	return "", fmt.Errorf("%w: it begins %s%s", ErrAmbiguous, strings.Join(ids, ", "), more)
}
