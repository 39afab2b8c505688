"""A service on asyncio with SQLAlchemy and aiosqlite: a JSON line asks, a JSON line answers. Its coroutines measure
themselves; SIGTERM ends it in good order, SIGINT as asyncio does."""

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import nullcontext

from sqlalchemy import ForeignKey, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncAttrs, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

import meter
from meter import Meter, burn

engine = create_async_engine(f"sqlite+aiosqlite:///{os.environ['REAL_OUTPUT']}/orders.db")
session_of = async_sessionmaker(engine, expire_on_commit=False)


def label(name):
    """flamelet's, where it is there: what SQLAlchemy runs in greenlets of its own then counts for the same name."""
    flamelet = sys.modules.get("flamelet")
    return flamelet.label(name) if flamelet else nullcontext()


class Base(AsyncAttrs, DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    items: Mapped[list["Item"]] = relationship(back_populates="order")


class Item(Base):
    __tablename__ = "items"
    id: Mapped[int] = mapped_column(primary_key=True)
    price: Mapped[int]
    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"))
    order: Mapped[Order] = relationship(back_populates="items")


class Metered:
    """`await Metered(name, coroutine)`: measures each of the coroutine's turns, whatever it calls and awaits there."""

    def __init__(self, name, coroutine):
        self._name = name
        self._coroutine = coroutine

    def __await__(self):
        meter = Meter()
        value = None
        while True:
            try:
                awaited = self._coroutine.send(value)
            except StopIteration as stop:
                return meter.end(self._name, stop.value)
            meter.out()
            value = yield awaited
            meter.returned()


async def burns(n):
    meter = Meter()
    burn(0.02)
    return meter.end("burns", n * n)


async def blocks(n):
    meter = Meter()
    time.sleep(0.015)
    return meter.end("blocks", n * n)


async def waits(n):
    meter = Meter()
    meter.out()
    await asyncio.sleep(0.03)
    meter.returned()
    return meter.end("waits", n * n)


async def mixes(n):
    meter = Meter()
    for turn in range(2):
        burn(0.01)
        time.sleep(0.005 * (turn + 1))
        meter.out()
        await asyncio.sleep(0.01)
        meter.returned()
    return meter.end("mixes", n * n)


async def stores(n):
    """An order with items; read again in another session, with what is loaded lazily."""
    with label("stores"):
        return await Metered("stores", _store(n))


async def _store(n):
    async with session_of() as session, session.begin():
        session.add(Order(name=f"order {n}", items=[Item(price=n * price) for price in range(10)]))
    async with session_of() as session:
        order = await session.scalar(select(Order).where(Order.name == f"order {n}"))
        items = await order.awaitable_attrs.items
        total = await session.scalar(select(func.sum(Item.price)).where(Item.order_id == order.id))
        return [order.name, len(items), total]


async def streams(n):
    """Prices, one by one from the database."""
    async with session_of() as session:
        rows = await session.stream_scalars(select(Item.price).where(Item.price < n).order_by(Item.price))
        return sum([price async for price in rows])


async def fails(n):
    """The second order of this name is refused, and rolled back."""
    try:
        for _ in range(2):
            async with session_of() as session, session.begin():
                session.add(Order(name=f"twice {n}"))
    except IntegrityError as error:
        return str(error.orig)


async def slow(n):
    """In the middle of this one the service is told to end."""
    print("slow begins", flush=True)
    await asyncio.sleep(1)
    print("slow ends", flush=True)
    return n


ANSWERS = {function.__name__: function for function in (burns, blocks, waits, mixes, stores, streams, fails, slow)}


async def answer(reader, writer):
    while line := await reader.readline():
        name, n = json.loads(line)
        writer.write(json.dumps(await ANSWERS[name](n)).encode() + b"\n")
        await writer.drain()
    writer.close()


async def main():
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    clients = set()

    async def client(reader, writer):
        clients.add(asyncio.current_task())
        try:
            await answer(reader, writer)
        finally:
            clients.discard(asyncio.current_task())

    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    server = await asyncio.start_server(client, "127.0.0.1", int(os.environ["REAL_PORT"]))
    try:
        await stopped.wait()
        print("stopping", flush=True)
        server.close()
        await asyncio.gather(*clients)
    finally:
        await engine.dispose()
        meter.save()
    print("ended", flush=True)


asyncio.run(main())
