package app

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Lines are edited, since encoding the nodes of a file again would drop its blank lines and its indentation.

// setConfigText returns text with the key at path set to value, which is one line of YAML.
func setConfigText(text string, path []string, value string) (string, error) {
	root, err := configMapping(text)
	if err != nil {
		return "", err
	}
	e := configEditor{lines: strings.SplitAfter(text, "\n")}
	all := configEntries{node: root, last: len(e.lines)}
	for len(path) > 1 {
		at := all.find(path[0])
		if at < 0 {
			break
		}
		all, path = e.inside(all, at), path[1:]
	}
	if at := all.find(path[0]); at >= 0 && len(path) == 1 {
		e.replace(all, at, value)
	} else {
		e.add(all, path, value)
	}
	return e.text(), nil
}

// unsetConfigText returns text without the key at path, and without the sections that nothing else is in.
func unsetConfigText(text string, path []string) (string, error) {
	root, err := configMapping(text)
	if err != nil {
		return "", err
	}
	e := configEditor{lines: strings.SplitAfter(text, "\n")}
	all := configEntries{node: root, last: len(e.lines)}
	first, last, _ := e.only(all, path)
	e.lines = slices.Delete(e.lines, first, last)
	return e.text(), nil
}

// only is the range of lines of the key at path, with the sections around it that have no other key; empty without one.
// whole says that it has all of the entry of path[0].
func (e *configEditor) only(m configEntries, path []string) (first, last int, whole bool) {
	at := m.find(path[0])
	if at < 0 {
		return 0, 0, false
	}
	if len(path) > 1 {
		inner := e.inside(m, at)
		first, last, whole = e.only(inner, path[1:])
		if !whole || len(inner.node.Content) > 2 {
			return first, last, false
		}
	}
	first, last = e.extent(m, at)
	return first, last, true
}

// configMapping is the root of a config file, empty for an empty file.
func configMapping(text string) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(document.Content) == 0 {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	if root := document.Content[0]; root.Kind == yaml.MappingNode {
		return root, nil
	}
	return nil, errors.New("it is not a mapping of flags to values")
}

// configEntries are the keys and values of a mapping whose text ends before the line with the index last.
type configEntries struct {
	node *yaml.Node
	last int
}

// find returns the index of a key in the node's content, or -1.
func (m configEntries) find(name string) int {
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		if m.node.Content[i].Value == name {
			return i
		}
	}
	return -1
}

type configEditor struct{ lines []string }

func (e *configEditor) text() string { return strings.Join(e.lines, "") }

// inside is the mapping that the entry at holds.
func (e *configEditor) inside(m configEntries, at int) configEntries {
	_, last := e.extent(m, at)
	return configEntries{m.node.Content[at+1], last}
}

// extent is the range of an entry's lines. Blank lines and comments between it and the next belong to the next.
func (e *configEditor) extent(m configEntries, at int) (first, last int) {
	first, last = m.node.Content[at].Line-1, m.last
	if at+2 < len(m.node.Content) {
		last = m.node.Content[at+2].Line - 1
	}
	for last > first+1 && !configContent(e.lines[last-1]) {
		last--
	}
	return first, max(last, first)
}

// configContent reports whether a line is neither blank nor a comment nor the end of the document.
func configContent(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line != "..." && !strings.HasPrefix(line, "#")
}

// replace gives an entry another value, and leaves the comment after it.
func (e *configEditor) replace(m configEntries, at int, value string) {
	key, old := m.node.Content[at], m.node.Content[at+1]
	first, last := e.extent(m, at)
	line, end := cutConfigEnd(e.lines[first])
	runes := []rune(line)
	head := string(runes[:key.Column-1]) + key.Value + ": "
	if old.Line == key.Line && old.Column-1 <= len(runes) {
		head = string(runes[:old.Column-1])
	}
	e.lines = slices.Replace(e.lines, first, last, head+value+configComment(line, key, old)+end)
}

// cutConfigEnd splits the end of a line from it.
func cutConfigEnd(line string) (text, end string) {
	text = strings.TrimRight(line, "\r\n")
	return text, line[len(text):]
}

// configComment is the comment that ends a line, with the blanks before it.
func configComment(line string, nodes ...*yaml.Node) string {
	for _, node := range nodes {
		if before, ok := strings.CutSuffix(line, node.LineComment); ok && node.LineComment != "" {
			return line[len(strings.TrimRight(before, " \t")):]
		}
	}
	return ""
}

// add appends an entry to a mapping: one key, or a section with a key.
func (e *configEditor) add(m configEntries, path []string, value string) {
	indent, end := "", "\n"
	if strings.HasSuffix(e.lines[0], "\r\n") {
		end = "\r\n"
	}
	at := m.last
	if n := len(m.node.Content); n > 0 {
		indent = strings.Repeat(" ", m.node.Content[0].Column-1)
		if indent != "" { // a section ends before the comments of what follows
			_, at = e.extent(m, n-2)
		}
	}
	var added strings.Builder
	if text, last := cutConfigEnd(e.lines[at-1]); text != "" && last == "" {
		added.WriteString(end)
	}
	for i, name := range path {
		if quoted, err := encodeConfigNode(configScalar(name)); err == nil { // an address of IPv6
			name = quoted
		}
		fmt.Fprintf(&added, "%s%s%s:", indent, strings.Repeat("  ", i), name)
		if i < len(path)-1 {
			added.WriteString(end)
		}
	}
	added.WriteString(" " + value + end)
	e.lines = slices.Insert(e.lines, at, added.String())
}

// onlyConfigChanged refuses an edit that changed more than the key at path: the file has a form that line edits do not know.
func onlyConfigChanged(before, after string, path []string) error {
	was, err1 := decodeConfig(before)
	is, err2 := decodeConfig(after)
	removeConfigText(was, path)
	removeConfigText(is, path)
	if err := errors.Join(err1, err2); err != nil || !reflect.DeepEqual(was, is) {
		return unknownConfigForm(path)
	}
	return nil
}

func unknownConfigForm(path []string) error {
	return fmt.Errorf("%s cannot be changed in a file of this form; edit it by hand", strings.Join(path, "."))
}

func decodeConfig(text string) (map[string]any, error) {
	values, decoder := map[string]any{}, yaml.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		return values, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return values, errors.New("more than one document")
	}
	return values, nil
}

// removeConfigText takes the key at path out of values, and a section that is empty then.
func removeConfigText(values map[string]any, path []string) {
	if len(path) == 1 {
		delete(values, path[0])
		return
	}
	if inner, ok := values[path[0]].(map[string]any); ok {
		removeConfigText(inner, path[1:])
		if len(inner) == 0 {
			delete(values, path[0])
		}
	}
}

// encodeConfig is the value of a key on one line.
func encodeConfig(values []string, list bool) (string, error) {
	if !list {
		return encodeConfigNode(configScalar(values[0]))
	}
	node := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, value := range values {
		node.Content = append(node.Content, configScalar(value))
	}
	return encodeConfigNode(node)
}

func encodeConfigNode(node *yaml.Node) (string, error) {
	text, err := yaml.Marshal(node)
	return strings.TrimSuffix(string(text), "\n"), err
}

// configScalar is a value that YAML reads as the same text, quoted if it must be.
func configScalar(value string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: value}
	var plain any
	if err := yaml.Unmarshal([]byte(value), &plain); err != nil || plain == nil || strings.ContainsAny(value, "\r\n") {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}
