package registry

import (
	"errors"
	"fmt"
	"strings"
)

// ShortNames are names without a registry, and the HOST/PATH that each means. No other name is given a registry.
type ShortNames map[string]string

// Parse reads a reference like the function Parse, or a short name with an optional tag and digest.
func (s ShortNames) Parse(given string) (Reference, error) {
	name, rest := cutName(given)
	if hasRegistry(name) || len(given) > maxReference {
		return Parse(given)
	}
	if whole, known := s[name]; known {
		return s.expand(given, name, whole, rest)
	}
	if _, err := Parse("localhost/" + given); err != nil {
		return Parse(given) // would be wrong with a registry too
	}
	return Reference{}, fmt.Errorf("%q names no registry; write HOST/%s with the registry's name, or say once what it means: scidex-oci config set short_names.%s HOST/PATH",
		given, given, name)
}

func (s ShortNames) expand(given, name, whole, rest string) (Reference, error) {
	base, err := Parse(whole)
	if _, more := cutName(whole); err == nil && more != "" {
		err = errors.New("it has a tag or a digest")
	}
	if err != nil {
		return base, fmt.Errorf("the short name %q stands for %q, which is not HOST/PATH: %w", name, whole, err)
	}
	ref, err := Parse(whole + rest)
	ref.given = given
	return ref, err
}

// cutName splits a reference before its tag or digest.
func cutName(given string) (name, rest string) {
	name, _, _ = strings.Cut(given, "@")
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	return name, given[len(name):]
}

// hasRegistry reports whether the first part of a name is a host, by Docker's rule.
func hasRegistry(name string) bool {
	host, _, more := strings.Cut(name, "/")
	return more && (host == "localhost" || strings.ContainsAny(host, ".:"))
}
