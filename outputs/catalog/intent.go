package catalog

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ValidateIntent returns why Create must refuse r, or nil. A dialect may refuse more.
func (r Run) ValidateIntent() error {
	switch {
	case r.ID == "" || !utf8.ValidString(r.ID):
		return errors.New("this cannot be an id")
	case r.Attempt < 1:
		return errors.New("attempts count from 1")
	case r.CreatedAt.IsZero():
		return errors.New("the time of creation is missing")
	}
	if _, err := created(r); err != nil {
		return err
	}
	for key, value := range r.Labels {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return fmt.Errorf("label %q=%q is not UTF-8", key, value)
		}
	}
	return nil
}

// ValidateEnd returns why Commit must refuse r, or nil, as far as that needs no database.
func (r Run) ValidateEnd() error {
	for i, event := range r.Events {
		if err := event.Validate(); err != nil {
			return fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	return nil
}
