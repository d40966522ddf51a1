package spec

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

var (
	idForm    = word(128, `^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	envForm   = pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	labelForm = word(63, `^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
)

// maxWord is execve(2)'s longest argument or variable, without its NUL (MAX_ARG_STRLEN, 32 pages of 4 KiB).
const maxWord = 128*1024 - 1

// ValidateID refuses an invalid id. Ids end the names of directories and control groups, so they contain no '/', and do
// not start with '.' or '-'.
func ValidateID(id string) error {
	if idForm(id) {
		return nil
	}
	return fmt.Errorf("id %s is not allowed: it must be 1 to 128 letters, digits, '.', '_' or '-', and begin with a letter or digit", quote(id))
}

// FieldError refuses the value of a field.
type FieldError struct {
	Field   string // the manifest's key; in the singular for one value of a list
	Problem string // starts with the value
}

func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

func badField(field, problem string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(problem, args...)}
}

// Validate refuses an analysis that cannot run. A zero field is unset and passes, as does an empty id: the runner makes
// one. The error is one sentence for the user. Validate checks only the request; the runner checks whether its paths
// exist.
func (a Analysis) Validate() error {
	for _, f := range fields {
		if err := f.validate(a); err != nil {
			return err
		}
	}
	return nil
}

func (f Field) validate(a Analysis) error {
	if value, ok := f.At(&a).(*string); ok {
		if f.path != "" {
			if err := cmp.Or(checkText(f.Name, *value), checkURL(f.Name, f.path, *value)); err != nil {
				return err
			}
		}
		if len(f.Choices) > 0 {
			if err := oneOf(f.Name, *value, f.Choices...); err != nil {
				return err
			}
		}
	}
	if f.check == nil {
		return nil
	}
	return f.check(a)
}

func checkID(a Analysis) error {
	if a.ID == "" {
		return nil
	}
	return ValidateID(a.ID)
}

func checkProgram(a Analysis) error {
	switch {
	case len(a.Command) == 0 && a.Script == "":
		return errors.New("there is nothing to run: give a command or a script")
	case len(a.Command) > 0 && a.Script != "":
		return fmt.Errorf("both a command (%s) and a script (%s) are given: give one of them", quote(a.Command[0]), quote(a.Script))
	case len(a.Command) > 0 && a.Command[0] == "":
		return errors.New("the command's first word is empty: it must name a program")
	case len(a.Args) > 0 && a.Script == "":
		return fmt.Errorf("args (%s) belong to a script: add them to the command itself", quote(a.Args[0]))
	case len(a.Args) > 0 && path.Ext(a.Script) == ".ipynb":
		return fmt.Errorf("a notebook takes no argument (%s): give it a variable with --env", quote(a.Args[0]))
	}
	return checkWords(a)
}

func checkWords(a Analysis) error {
	for _, word := range slices.Concat(a.Command, a.Args) {
		if err := checkText("argument", word); err != nil {
			return err
		}
		if len(word) > maxWord {
			return fmt.Errorf("argument %s is longer than the %d bytes the kernel takes: put it into a file", quote(word), maxWord)
		}
	}
	return nil
}

// checkText refuses text that cannot be passed on (NUL ends a C string) or stored (the catalog's JSON is UTF-8, and must
// record the text that was run).
func checkText(field, value string) error {
	if strings.ContainsRune(value, 0) {
		return badField(field, "%s has a NUL byte: take it out", quote(value))
	}
	if !utf8.ValidString(value) {
		return badField(field, "%s is not UTF-8, so it cannot be recorded: rename or recode it", quote(value))
	}
	return nil
}

func checkEnv(a Analysis) error {
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		if err := checkEnvName("env", name); err != nil {
			return err
		}
		if err := checkText("env "+name+":", a.Env[name]); err != nil {
			return err
		}
		if len(name)+1+len(a.Env[name]) > maxWord {
			return fmt.Errorf("env %s: %s is longer than the %d bytes the kernel takes: put it into a file", name, quote(a.Env[name]), maxWord)
		}
	}
	return nil
}

func checkEnvName(field, name string) error {
	if !envForm().MatchString(name) {
		return fmt.Errorf("%s name %s is not allowed: it must be letters, digits and '_', and not begin with a digit", field, quote(name))
	}
	if slices.Contains(reservedEnv[:], name) {
		return fmt.Errorf("%s name %s is set by scidex-oci itself: choose another", field, quote(name))
	}
	return nil
}

func checkSecrets(a Analysis) error {
	for _, name := range a.Secrets {
		if name, _, found := strings.Cut(name, "="); found { // the message must not have the value
			return fmt.Errorf("secret %s is given with a value: give the name only, and have the value in the environment", quote(name))
		}
		if err := checkEnvName("secret", name); err != nil {
			return err
		}
		if _, ok := a.Env[name]; ok {
			return fmt.Errorf("%s is both in env and in secrets: take it out of env, whose values are kept and shown", quote(name))
		}
	}
	return nil
}

// validateLabelName refuses an invalid name of a label.
func validateLabelName(name string) error {
	if !labelForm(name) {
		return fmt.Errorf("label name %s is not allowed: it must be 1 to 63 letters, digits, '.', '_', '/' or '-', and begin with a letter or digit", quote(name))
	}
	return nil
}

func checkLabels(a Analysis) error {
	const maxValue = 256 // bytes
	for _, key := range slices.Sorted(maps.Keys(a.Labels)) {
		value := a.Labels[key]
		if err := validateLabelName(key); err != nil {
			return err
		}
		switch {
		case len(value) > maxValue:
			return fmt.Errorf("label %s: %s is longer than %d bytes", key, quote(value), maxValue)
		case strings.ContainsFunc(value, isControl):
			return fmt.Errorf("label %s: %s has a control character: take it out", key, quote(value))
		}
		if err := checkText("label "+key+":", value); err != nil {
			return err
		}
	}
	return nil
}

func checkGlobs(field string, globs []string) error {
	for _, g := range globs {
		if err := checkGlob(field, g); err != nil {
			return err
		}
	}
	return nil
}

func checkGlob(field, glob string) error {
	if err := checkText(field, glob); err != nil {
		return err
	}
	if glob == "" {
		return badField(field, "pattern \"\" is empty: write a pattern such as *.csv")
	}
	if strings.HasPrefix(glob, "/") {
		return badField(field, "pattern %s must be relative to /work: write it without the leading '/'", quote(glob))
	}
	for name := range strings.SplitSeq(glob, "/") {
		if name == "" || name == "." || name == ".." {
			return badField(field, "pattern %s can match nothing below /work: leave out empty names, '.' and '..'", quote(glob))
		}
	}
	if !doublestar.ValidatePattern(glob) {
		return badField(field, "pattern %s is malformed: close every '[' and '{', and do not end with '\\'", quote(glob))
	}
	return nil
}

func checkInputs(a Analysis) error {
	_, err := parseInputs(a.Inputs)
	return err
}
