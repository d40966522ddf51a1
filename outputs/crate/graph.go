package crate

import (
	"bytes"
	"encoding/json"
)

// document is the file ro-crate-metadata.json.
type document struct {
	Context []string `json:"@context"`
	Graph   []any    `json:"@graph"`
}

const (
	crateContext = "https://w3id.org/ro/crate/1.1/context"
	runContext   = "https://w3id.org/ro/terms/workflow-run/context"
	crateProfile = "https://w3id.org/ro/crate/1.1"
	runProfile   = "https://w3id.org/ro/wfrun/process/0.5"
	runTerms     = "https://w3id.org/ro/terms/workflow-run#"
	statusTerms  = "http://schema.org/"
)

var contexts = []string{crateContext, runContext}

// ref refers to an entity.
type ref struct {
	ID string `json:"@id"`
}

func refTo(id string) *ref { return &ref{id} }

// entity is any of the graph; empty fields are omitted.
type entity struct {
	ID   string `json:"@id"`
	Type any    `json:"@type"` // a string or several

	Name          string `json:"name,omitempty"`
	AlternateName string `json:"alternateName,omitempty"`
	Description   string `json:"description,omitempty"`
	URL           string `json:"url,omitempty"`

	// Of the metadata file and the root.
	About         *ref   `json:"about,omitempty"`
	ConformsTo    *ref   `json:"conformsTo,omitempty"`
	DatePublished string `json:"datePublished,omitempty"`
	License       *ref   `json:"license,omitempty"`
	HasPart       []ref  `json:"hasPart,omitempty"`
	Mentions      []ref  `json:"mentions,omitempty"`

	// Of files.
	ContentSize    string `json:"contentSize,omitempty"` // schema.org has text here
	EncodingFormat string `json:"encodingFormat,omitempty"`
	SHA256         string `json:"sha256,omitempty"`

	// Of software and profiles.
	Version         string `json:"version,omitempty"`
	SoftwareVersion string `json:"softwareVersion,omitempty"`

	// Of actions.
	StartTime      string `json:"startTime,omitempty"`
	EndTime        string `json:"endTime,omitempty"`
	ActionStatus   *ref   `json:"actionStatus,omitempty"`
	Error          string `json:"error,omitempty"`
	Instrument     *ref   `json:"instrument,omitempty"`
	Agent          *ref   `json:"agent,omitempty"`
	Object         []ref  `json:"object,omitempty"`
	Result         []ref  `json:"result,omitempty"`
	Environment    []ref  `json:"environment,omitempty"`
	ContainerImage *ref   `json:"containerImage,omitempty"`
	ResourceUsage  []ref  `json:"resourceUsage,omitempty"`

	// Of images.
	AdditionalType *ref   `json:"additionalType,omitempty"`
	Registry       string `json:"registry,omitempty"`
	Tag            string `json:"tag,omitempty"`
	Identifier     string `json:"identifier,omitempty"`

	// Of property values. A variable's value may be empty.
	PropertyID string  `json:"propertyID,omitempty"`
	UnitCode   string  `json:"unitCode,omitempty"`
	Value      *string `json:"value,omitempty"`
}

// encode writes a graph deterministically.
func encode(graph []any) ([]byte, error) {
	var buffer bytes.Buffer
	e := json.NewEncoder(&buffer)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(document{Context: contexts, Graph: graph})
	return buffer.Bytes(), err
}
