// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// Prints the exported names of a Go package: its types, functions, constants and
// variables, and the methods and fields of its types as TYPE.NAME. Use the
// program to compare a new release of client-go with this library:
//
//	go run tools/go_names/main.go MODULE@VERSION PACKAGE
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// baseName returns the name of the type of an embedded field or a receiver, for
// example Limiter for *rate.Limiter, and Typed for *Typed[T].
func baseName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return baseName(t.X)
	case *ast.IndexExpr:
		return baseName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func exportedNames(file *ast.File) []string {
	var names []string
	add := func(words ...string) {
		for _, word := range words {
			if !token.IsExported(word) {
				return
			}
		}
		names = append(names, strings.Join(words, "."))
	}
	addMembers := func(owner string, members *ast.FieldList, embeddedToo bool) {
		for _, member := range members.List {
			for _, name := range member.Names {
				add(owner, name.Name)
			}
			if len(member.Names) == 0 && embeddedToo {
				add(owner, baseName(member.Type))
			}
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				add(decl.Name.Name)
			} else {
				add(baseName(decl.Recv.List[0].Type), decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						add(name.Name)
					}
				case *ast.TypeSpec:
					add(spec.Name.Name)
					switch t := spec.Type.(type) {
					case *ast.StructType:
						addMembers(spec.Name.Name, t.Fields, true)
					case *ast.InterfaceType:
						addMembers(spec.Name.Name, t.Methods, false)
					}
				}
			}
		}
	}
	return names
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: go run tools/go_names/main.go MODULE@VERSION PACKAGE")
	}
	out, err := exec.Command("go", "mod", "download", "-json", os.Args[1]).Output()
	if err != nil {
		log.Fatalf("go mod download: %v\n%s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		log.Fatal(err)
	}
	notTest := func(info fs.FileInfo) bool {
		return !strings.HasSuffix(info.Name(), "_test.go")
	}
	packages, err := parser.ParseDir(token.NewFileSet(),
		filepath.Join(module.Dir, os.Args[2]), notTest, 0)
	if err != nil {
		log.Fatal(err)
	}
	var names []string
	for _, pkg := range packages {
		for _, file := range pkg.Files {
			names = append(names, exportedNames(file)...)
		}
	}
	sort.Strings(names)
	fmt.Println("# go run tools/go_names/main.go", os.Args[1], os.Args[2])
	for _, name := range names {
		fmt.Println(name)
	}
}
