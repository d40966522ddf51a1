package spec

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// knownTags are the tags, explicit or implied, allowed for each kind of node.
var knownTags = map[yaml.Kind][]string{
	yaml.MappingNode:  {"!!map"},
	yaml.SequenceNode: {"!!seq"},
	yaml.ScalarNode:   {"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge"},
}

// UnknownTag returns the first node of the tree with an unknown tag, or nil. Such a tag requests something that a reader
// which ignores it does not do.
func UnknownTag(node *yaml.Node) *yaml.Node {
	if known, ok := knownTags[node.Kind]; ok && !slices.Contains(known, node.ShortTag()) {
		return node
	}
	for _, inner := range node.Content {
		if unknown := UnknownTag(inner); unknown != nil {
			return unknown
		}
	}
	return nil
}

// checkTags refuses a tree with an unknown tag, and names its line.
func checkTags(node *yaml.Node) error {
	if unknown := UnknownTag(node); unknown != nil {
		return wrong(unknown, "the tag %s is not known here; take it out", quote(unknown.Tag))
	}
	return nil
}
