"""A shop with SQLAlchemy: each order is made with the job that ships it, in one transaction.

    shop.py DATABASE order NAME [fail]      prints the number of the job; with `fail` the transaction fails in the end
    shop.py DATABASE cancel JOB             prints whether the job was cancelled
    shop.py DATABASE orders                 prints the orders
"""
import datetime
import sys

import psycopg2
from sqlalchemy import Column, DateTime, Interval, Text, cast, create_engine, func, select
from sqlalchemy.orm import Session, declarative_base

Base = declarative_base()


class Order(Base):
    __tablename__ = "orders"
    name = Column(Text, primary_key=True)
    made = Column(DateTime(timezone=True), server_default=func.now())


class OutOfStock(Exception):
    pass


def order(engine, name, *rest):
    with Session(engine) as session, session.begin():
        session.add(Order(name=name))
        session.flush()
        delay = cast(datetime.timedelta(milliseconds=1), Interval)
        job = session.scalar(select(func.foliot.put("shipping", name, delay)))
        if rest:
            raise OutOfStock
    with Session(engine) as session, session.begin():  # after the commit
        session.execute(select(func.foliot.tell("shipping")))
    return job


def cancel(engine, job):
    with Session(engine) as session, session.begin():
        return session.scalar(select(func.foliot.cancel(int(job))))


def orders(engine):
    with Session(engine) as session:
        return " ".join(session.scalars(select(Order.name).order_by(Order.name)))


def main(database, command, *arguments):
    engine = create_engine("postgresql+psycopg2://", creator=lambda: psycopg2.connect(database))
    Base.metadata.create_all(engine)
    try:
        print({"order": order, "cancel": cancel, "orders": orders}[command](engine, *arguments))
    except OutOfStock:
        print("out of stock")


if __name__ == "__main__":
    main(*sys.argv[1:])
