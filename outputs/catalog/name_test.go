package catalog

import (
	"errors"
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	tests := []struct {
		text string
		want Name
		ok   bool
	}{
		{"@last", Name{Last: true}, true},
		{"a", Name{ID: "a"}, true},
		{"a.b_c-d", Name{ID: "a.b_c-d"}, true},
		{"a@1", Name{ID: "a", Attempt: 1}, true},
		{"a@12", Name{ID: "a", Attempt: 12}, true},
		{"", Name{}, false},
		{"@", Name{}, false},
		{"@1", Name{}, false},
		{"@LAST", Name{}, false},
		{"a@", Name{}, false},
		{"a@0", Name{}, false},
		{"a@-1", Name{}, false},
		{"a@+1", Name{}, false},
		{"a@01", Name{}, false},
		{"a@1@2", Name{}, false},
		{"a@last", Name{}, false},
		{"a@99999999999999999999", Name{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := ParseName(tt.text)
			if (err == nil) != tt.ok {
				t.Fatalf("ParseName(%q) error = %v, want ok = %v", tt.text, err, tt.ok)
			}
			if err != nil && !errors.Is(err, ErrNotFound) {
				t.Errorf("ParseName(%q) error %v does not wrap ErrNotFound", tt.text, err)
			}
			if got != tt.want {
				t.Errorf("ParseName(%q) = %+v, want %+v", tt.text, got, tt.want)
			}
		})
	}
}

func TestNameKey(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		ids  []string
		err  error
		want Key
		says error
	}{
		{"none", nil, nil, Key{}, ErrNotFound},
		{"one that begins so", []string{"abc"}, nil, Key{"abc", 2}, nil},
		{"spelled out beside longer ones", []string{"ab", "abc", "abd"}, nil, Key{"ab", 2}, nil},
		{"several", []string{"abc", "abd"}, nil, Key{}, ErrAmbiguous},
		{"more than are shown", []string{"ab1", "ab2", "ab3", "ab4", "ab5", "ab6"}, nil, Key{}, ErrAmbiguous},
		{"no answer", nil, broken, Key{}, broken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Name{ID: "ab", Attempt: 2}.Key(func(prefix string, limit int) ([]string, error) {
				if prefix != "ab" || limit != 6 {
					t.Errorf("asked for %d that begin with %q", limit, prefix)
				}
				return tt.ids, tt.err
			})
			if got != tt.want || !errors.Is(err, tt.says) {
				t.Errorf("Key = %+v, %v, want %+v, %v", got, err, tt.want, tt.says)
			}
			if len(tt.ids) == 6 && (!strings.HasSuffix(err.Error(), "ab5 and more")) {
				t.Errorf("the error %q names not five of more", err)
			}
		})
	}
}

func FuzzParseName(f *testing.F) {
	for _, text := range []string{"@last", "a", "a@1", "a@01", "", "@", "a@1@2", "a\xff@3", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := ParseName(text)
		if err != nil {
			if !errors.Is(err, ErrNotFound) || name != (Name{}) {
				t.Fatalf("ParseName(%q) = %+v, %v", text, name, err)
			}
			return
		}
		if name.String() != text {
			t.Fatalf("ParseName(%q) reads back as %q", text, name.String())
		}
		if name.Attempt < 0 || name.Last == (name.ID != "") {
			t.Fatalf("ParseName(%q) = %+v", text, name)
		}
	})
}
