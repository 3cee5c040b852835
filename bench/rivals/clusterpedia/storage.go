// The table through gorm, and its rows as objects. Follows pkg/storage/internalstorage/{register,resource_storage,util,json_builder,types}.go: the same
// calls of gorm in the same order, so that it makes the same SQL. Easy to get wrong: all rows are in memory as bytes before the first is decoded, and
// no order is asked for that the question has not.
package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	gpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
)

const (
	maxIdleConns = 5
	maxOpenConns = 40
)

// Resource is a row; gorm takes the table's name and columns from it.
type Resource struct {
	ID uint `gorm:"primaryKey"`

	Group           string
	Version         string
	Resource        string
	Kind            string
	Cluster         string
	Namespace       string
	Name            string
	OwnerUID        string `gorm:"column:owner_uid"`
	UID             string
	ResourceVersion string
	Object          objectBytes
	CreatedAt       time.Time
}

// objectBytes is the column `object`, as gorm.io/datatypes scans JSON: copied.
type objectBytes []byte

func (b *objectBytes) Scan(value any) error {
	switch value := value.(type) {
	case []byte:
		*b = append(make([]byte, 0, len(value)), value...)
	case string:
		*b = []byte(value)
	default:
		return fmt.Errorf("an object came as %T", value)
	}
	return nil
}

// openStorage connects to a database by its URL.
func openStorage(database string) (*gorm.DB, error) {
	config, err := pgx.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	dialector := gpostgres.New(gpostgres.Config{Conn: stdlib.OpenDB(*config)})
	db, err := gorm.Open(dialector, &gorm.Config{SkipDefaultTransaction: true, Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(maxIdleConns)
	pool.SetMaxOpenConns(maxOpenConns)
	return db, nil
}

type storage struct {
	db    *gorm.DB
	codec runtime.Codec
}

func (s *storage) get(ctx context.Context, cluster, namespace, name string, into runtime.Object) error {
	key := typeKey()
	key["cluster"], key["namespace"], key["name"] = cluster, namespace, name
	var objects [][]byte
	if err := s.db.WithContext(ctx).Model(&Resource{}).Select("object").Where(key).First(&objects).Error; err != nil {
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return apierrors.NewNotFound(pods.GroupResource(), name)
		}
		return err
	}
	object, _, err := s.codec.Decode(objects[0], nil, into)
	if err == nil && object != into {
		err = fmt.Errorf("decoded into another object than %T", into)
	}
	return err
}

func typeKey() map[string]any {
	return map[string]any{"group": pods.Group, "version": pods.Version, "resource": pods.Resource}
}

func (s *storage) list(ctx context.Context, into runtime.Object, options *listOptions) error {
	query := s.db.WithContext(ctx).Model(&Resource{}).Where(typeKey())
	offset, amount, query := applyOptions(query, options)
	var objects []objectBytes
	if err := query.Select("object").Find(&objects).Error; err != nil {
		return err
	}
	list, err := meta.ListAccessor(into)
	if err != nil {
		return err
	}
	if options.withContinue && int64(len(objects)) == options.limit {
		list.SetContinue(strconv.FormatInt(offset+options.limit, 10))
	}
	if amount != nil {
		remaining := *amount - offset - int64(len(objects))
		list.SetRemainingItemCount(&remaining)
	}
	if len(objects) == 0 {
		return nil
	}
	items, err := meta.GetItemsPtr(into)
	if err != nil {
		return err
	}
	value, err := conversion.EnforcePtr(items)
	if err != nil {
		return err
	}
	slice := reflect.MakeSlice(value.Type(), len(objects), len(objects))
	expected := reflect.New(value.Type().Elem()).Interface().(runtime.Object)
	for i, stored := range objects {
		object, _, err := s.codec.Decode(stored, nil, expected.DeepCopyObject())
		if err != nil {
			return err
		}
		slice.Index(i).Set(reflect.ValueOf(object).Elem())
	}
	value.Set(slice)
	return nil
}

// applyOptions gives the offset and, where it was asked for, the number of all rows, which is a query of its own.
func applyOptions(query *gorm.DB, options *listOptions) (int64, *int64, *gorm.DB) {
	query = whereOneOf(query, "cluster", options.clusters)
	query = whereOneOf(query, "namespace", options.namespaces)
	query = whereOneOf(query, "name", options.names)
	requirements, _ := options.labels.Requirements()
	for i := range requirements {
		query = query.Where(labelCondition{requirements[i]})
	}
	var amount *int64
	if options.withRemainingCount {
		amount = new(int64)
		query = query.Count(amount)
	}
	for _, by := range options.orderBy {
		column := by.column
		if column == "resource_version" {
			column = "CAST(resource_version as decimal)"
		}
		query = query.Order(clause.OrderByColumn{Column: clause.Column{Name: column, Raw: true}, Desc: by.descending})
	}
	if options.limit > 0 {
		query = query.Limit(int(options.limit))
	}
	offset, err := strconv.Atoi(options.from)
	if err == nil {
		query = query.Offset(offset)
	}
	return int64(offset), amount, query
}

func whereOneOf(query *gorm.DB, column string, values []string) *gorm.DB {
	switch len(values) {
	case 0:
		return query
	case 1:
		return query.Where(column+" = ?", values[0])
	default:
		return query.Where(column+" IN ?", values)
	}
}

// labelCondition is a label as a path into the object: "object" -> 'metadata' -> 'labels' ->> 'app' = 'web', all of it as parameters.
type labelCondition struct {
	labels.Requirement
}

// Build implements clause.Expression.
func (c labelCondition) Build(builder clause.Builder) {
	write := func(text string) { _, _ = builder.WriteString(text) }
	path := func() {
		builder.WriteQuoted("object")
		for _, key := range []string{"metadata", "labels"} {
			write(" -> ")
			builder.AddVar(builder, key)
		}
		write(" ->> ")
		builder.AddVar(builder, c.Key())
	}
	values := c.Values().List()
	operator := c.Operator()
	not := operator == selection.NotEquals || operator == selection.NotIn
	if not {
		write("(")
		path()
		write(" IS NULL OR ")
	}
	path()
	switch {
	case operator == selection.Exists:
		write(" IS NOT NULL")
	case operator == selection.DoesNotExist:
		write(" IS NULL")
	case len(values) == 1 && not:
		write(" != ")
		builder.AddVar(builder, values[0])
	case len(values) == 1:
		write(" = ")
		builder.AddVar(builder, values[0])
	case not:
		write(" NOT IN ")
		builder.AddVar(builder, values)
	default:
		write(" IN ")
		builder.AddVar(builder, values)
	}
	if not {
		write(")")
	}
}
