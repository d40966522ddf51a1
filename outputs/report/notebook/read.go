package notebook

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// errNone is for JSON that is no notebook.
var errNone = errors.New("it has no cells: it is no notebook")

// Read reads a notebook to its end. With an error it returns the cells before the damage.
func Read(r io.Reader) (Notebook, error) {
	d := decoder{json.NewDecoder(r)}
	var n Notebook
	found := false
	err := d.object(func(key string) error {
		switch key {
		case "cells": // format 4
			found = true
			return d.array(func() error { return n.cell(d) })
		case "worksheets": // formats 2 and 3
			return d.array(func() error {
				return d.object(func(key string) error {
					if key != "cells" {
						return d.skip()
					}
					found = true
					return d.array(func() error { return n.cell(d) })
				})
			})
		}
		return d.skip()
	})
	if err == nil && !found {
		err = errNone
	}
	return n, err
}

func (n *Notebook) cell(d decoder) error {
	if len(n.Cells) == cellsMax {
		n.More++
		return d.skip()
	}
	var c Cell
	err := d.object(func(key string) error { return c.field(d, key) })
	if c.heading > 0 {
		c.Source = strings.Repeat("#", min(c.heading, 6)) + " " + strings.ReplaceAll(c.Source, "\n", " ")
	}
	if err == nil || c.Source != "" {
		n.Cells = append(n.Cells, c)
	}
	return err
}

func (c *Cell) field(d decoder, key string) (err error) {
	switch key {
	case "cell_type":
		return c.kind(d)
	case "source", "input":
		c.Source, c.Cut, err = d.text(textMax)
	case "execution_count", "prompt_number":
		c.Number, err = d.number()
	case "level":
		level, err := d.number()
		c.heading *= max(level, 1)
		return err
	case "outputs":
		return d.array(func() error { return c.output(d) })
	case "attachments":
		c.Images = map[string]Bundle{}
		return d.object(func(name string) error { return c.attachment(d, name) })
	default:
		return d.skip()
	}
	return err
}

func (c *Cell) kind(d decoder) error {
	name, _, err := d.text(20)
	switch name {
	case "code":
		c.Kind = Code
	case "markdown":
		c.Kind = Markdown
	case "heading":
		c.Kind, c.heading = Markdown, 1
	}
	return err
}

func (c *Cell) attachment(d decoder, name string) error {
	if len(c.Images) == outputsMax {
		return d.skip()
	}
	b := Bundle{Types: map[string]string{}}
	err := d.object(func(media string) error { return b.take(d, media) })
	c.Images[strings.Clone(name)] = b
	return err
}

func (c *Cell) output(d decoder) error {
	if len(c.Outputs) == outputsMax {
		c.More++
		return d.skip()
	}
	o := Output{Bundle: Bundle{Types: map[string]string{}}}
	kind := ""
	err := d.object(func(key string) (err error) {
		if key == "output_type" {
			kind, _, err = d.text(20)
			return err
		}
		return o.field(d, key)
	})
	o.setKind(kind)
	c.Outputs = append(c.Outputs, o)
	return err
}

func (o *Output) field(d decoder, key string) (err error) {
	switch key {
	case "name", "stream":
		o.Stream, _, err = d.text(20)
	case "execution_count", "prompt_number":
		o.Number, err = d.number()
	case "ename":
		o.errName, _, err = d.text(200)
	case "evalue":
		o.errText, _, err = d.text(2000)
	case "traceback":
		o.Text, o.Cut, err = d.lines(textMax)
	case "data":
		return d.object(func(media string) error { return o.Bundle.take(d, media) })
	default: // format 3 has the types among the other fields, and all formats have the text of a stream as "text"
		if known[key] != "" {
			return o.Bundle.take(d, key)
		}
		return d.skip()
	}
	return err
}

// setKind makes a stream, an error or a result of what was read. It comes last, since the fields of the file come in any order.
func (o *Output) setKind(kind string) {
	b := &o.Bundle
	switch kind {
	case "stream":
		if o.Stream != "stderr" {
			o.Stream = "stdout"
		}
		o.Error, o.Text = false, b.Types["text/plain"]
		o.Cut = len(b.Others) > 0
		*b = Bundle{}
	case "error", "pyerr":
		if o.Error, o.Stream = true, ""; o.Text == "" {
			o.Text = strings.TrimSuffix(o.errName+": "+o.errText, ": ")
		}
		*b = Bundle{}
	default:
		o.Stream, o.Text, o.Cut, o.errName, o.errText = "", "", false, "", ""
		if kind == "display_data" {
			o.Number = 0
		}
	}
}

// take keeps one type of a bundle.
func (b *Bundle) take(d decoder, name string) error {
	media, kept := known[name]
	if !kept {
		b.other(name)
		return d.skip()
	}
	text, cut, err := d.text(bound(media))
	switch {
	case cut && media == "text/plain":
		b.Types[media] = text
		b.other(media)
	case cut:
		b.other(media)
	case text != "":
		b.Types[media] = text
	}
	return err
}

func (b *Bundle) other(media string) {
	if len(b.Others) < 5 {
		b.Others = append(b.Others, strings.Clone(media[:min(len(media), 80)]))
	}
}
