package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/internal/suggest"
)

// reader reads the arguments of a tool as the types that it has for them. A number where a text belongs, or the other way round, is
// taken; a null is left out. The schema would refuse the rest too, in words that do not help a model.
type reader struct {
	tool    string
	objects []object
}

// object has the fields of a struct among the arguments: those with the prefix "limits.", for instance.
type object struct {
	prefix string
	names  []string
}

// add adds the fields of a struct, and those of the structs in it.
func (r *reader) add(in reflect.Type, prefix string) {
	at := len(r.objects)
	r.objects = append(r.objects, object{prefix: prefix})
	for _, field := range reflect.VisibleFields(in) {
		name, _ := tag(field)
		r.objects[at].names = append(r.objects[at].names, name)
		t := field.Type
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct {
			r.add(t, prefix+name+".")
		}
	}
}

// tag is the name of a field, and whether it must be given.
func tag(field reflect.StructField) (name string, required bool) {
	name, how, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name, how == ""
}

// kind is what a JSON value is, in a sentence.
type kind string

const (
	isNull   kind = "null"
	isText   kind = "a string"
	isNumber kind = "a number"
	isBool   kind = "true or false"
	isList   kind = "a list"
	isObject kind = "an object"
)

func kindOf(value json.RawMessage) kind {
	first := bytes.TrimLeft(value, " \t\r\n")
	if len(first) == 0 {
		return isNull
	}
	switch first[0] {
	case 'n':
		return isNull
	case '"':
		return isText
	case 't', 'f':
		return isBool
	case '[':
		return isList
	case '{':
		return isObject
	}
	return isNumber
}

// value reads a value at a path as a type.
func (r *reader) value(t reflect.Type, at string, given json.RawMessage) (json.RawMessage, error) {
	switch got := kindOf(given); t.Kind() {
	case reflect.Pointer:
		return r.value(t.Elem(), at, given)
	case reflect.Struct:
		return r.object(t, at, given)
	case reflect.Map:
		return r.texts(at, given)
	case reflect.Slice:
		return r.list(t.Elem(), at, given)
	case reflect.Bool:
		return given, want(got, isBool, at)
	case reflect.String:
		if got == isNumber {
			return json.Marshal(string(given))
		}
		return given, want(got, isText, at)
	default:
		if text := ""; json.Unmarshal(given, &text) == nil && json.Unmarshal([]byte(text), new(float64)) == nil {
			return json.RawMessage(text), nil
		}
		return given, want(got, isNumber, at)
	}
}

func want(got, needed kind, at string) error {
	if got != needed {
		return fmt.Errorf("%s: give %s, not %s", cmp.Or(at, "arguments"), needed, got)
	}
	return nil
}

// object reads the fields of a struct; at is "" for that of all arguments.
func (r *reader) object(t reflect.Type, at string, given json.RawMessage) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if json.Unmarshal(given, &all) != nil {
		return nil, want(kindOf(given), isObject, at)
	}
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		name, _ := tag(field)
		names = append(names, name)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(names, name) {
			return nil, r.unknown(at, name, names)
		}
	}
	for _, field := range reflect.VisibleFields(t) {
		name, required := tag(field)
		if kindOf(all[name]) == isNull {
			if required {
				return nil, fmt.Errorf("%s needs the argument %q", r.tool, join(at, name))
			}
			delete(all, name)
			continue
		}
		var err error
		if all[name], err = r.value(field.Type, join(at, name), all[name]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(all)
}

// join is the path of a name in an object.
func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// texts reads a map of texts.
func (r *reader) texts(at string, given json.RawMessage) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if json.Unmarshal(given, &all) != nil {
		return nil, want(kindOf(given), isObject, at)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var err error
		if all[name], err = r.value(reflect.TypeFor[string](), join(at, shown(name)), all[name]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(all)
}

// list reads the elements of a list.
func (r *reader) list(t reflect.Type, at string, given json.RawMessage) (json.RawMessage, error) {
	var all []json.RawMessage
	if json.Unmarshal(given, &all) != nil {
		return nil, fmt.Errorf("%w%s", want(kindOf(given), isList, at), example(at, given))
	}
	for i := range all {
		var err error
		if all[i], err = r.value(t, at, all[i]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(all)
}

// example is the list that a text may have been meant as: a command by its words.
func example(at string, given json.RawMessage) string {
	var text string
	if json.Unmarshal(given, &text) != nil || text == "" || len(text) > 100 {
		return ""
	}
	words := []string{text}
	if at == "command" {
		words = strings.Fields(text)
	}
	list, _ := json.Marshal(words) // of texts
	return ", such as " + screen.Escape(string(list))
}

// unknown refuses a name that there is not, and says which may have been meant: one that is alike, here or in another object, or else
// which there are here.
func (r *reader) unknown(at, name string, here []string) error {
	no := fmt.Sprintf("%s has no argument %s", r.tool, shown(join(at, name)))
	for _, o := range append([]object{{join(at, ""), here}}, r.objects...) {
		if near := suggest.DidYouMean(name, o.names, o.prefix); near != "" {
			return errors.New(no + near)
		}
	}
	return fmt.Errorf("%s; it has %s", no, strings.Join(here, ", "))
}
